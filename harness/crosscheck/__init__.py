"""Every case on every engine: what agrees, what breaks, what silently answers differently, and why."""

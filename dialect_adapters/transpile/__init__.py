"""Gold of one dialect written in another: read with the source's rules, written with the target's, or refused."""

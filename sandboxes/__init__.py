"""Where databases run: images, snapshots, containers, jails and their removal."""

"""One file per command: parsing and printing, nothing else."""

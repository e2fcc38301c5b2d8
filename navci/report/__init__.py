"""What people see of a run: each report is one file with one function that returns text."""

"""The GitHub Actions runtime: event payload, outputs, workflow commands, step summary file."""

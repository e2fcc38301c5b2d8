"""What a person sets up and looks at beside the loop: the demo, the doctor, the journal."""

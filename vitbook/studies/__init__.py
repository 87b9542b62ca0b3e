"""What the chapters try out with the model: a file a study, none of which the model knows."""

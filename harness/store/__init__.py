"""What a run leaves on disk: journal, results, timings, relations, and the gold cache beside the images."""

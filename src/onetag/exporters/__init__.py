"""What leaves the house: tags as tables and sidecar files."""

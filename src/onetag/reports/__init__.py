"""Reports: run folders as one HTML page, without links to anywhere."""

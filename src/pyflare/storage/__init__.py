"""What is kept: the layout of the state folder, SQLite databases, blobs."""

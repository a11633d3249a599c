"""What the page and the playback of an estimation show of one kind of recording, a module each."""

"""Joint logs fitted by inverse dynamics: positions and efforts alone, of real arms."""

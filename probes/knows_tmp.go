package probes

// Knows is what of a story a probe sees.
type Knows struct{ Turns, Nesting, Workers, Reports bool }

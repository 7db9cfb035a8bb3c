// Package trace reads and writes trace files: the events of an agent, kept so that they can be looked at later,
// elsewhere, again. docs/trace.md describes the format.
//
// Writer writes blocks, at least one a second, so that a crash loses little. Reader returns the batches that the agent
// sent, with the same bytes of each event. It reads a damaged file up to the damage, says where that is, and can follow
// a file that is still being written.
package trace

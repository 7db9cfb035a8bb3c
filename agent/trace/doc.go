// Package trace reads and writes trace files: the events of an agent, kept so that
// it can be looked at later, elsewhere, again. docs/trace.md describes the
// format.
//
// Writer writes blocks, at least one a second, so that a crash loses little.
// Reader gives the same batches back that the agent sent, byte by byte the same
// events; it reads a damaged file up to the damage and says where that is, and
// can follow a file that is still being written.
package trace

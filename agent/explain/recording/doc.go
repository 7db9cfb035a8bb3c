// Package recording keeps snapshots of pods for tests: one file for all ways of looking
// that name the same cause in it. The lesser ways are derived from the snapshot of the
// one that sees most.
package recording

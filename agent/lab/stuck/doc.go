// Package stuck makes pods stuck for real, on simulated and on real nodes, and checks
// that the right cause is named first, without any probe and with each. Its tests have
// the tags sim and node.
//
// PODSTEP_RECORD names a directory, normally agent/explain/causes/testdata/recorded:
// the snapshot by which a cause was named is then written there, and is explained again
// by the unit tests of package causes from then on.
package stuck

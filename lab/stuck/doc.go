// Package stuck makes pods stuck for real, on simulated and on real nodes. It checks that the right cause is named
// first, with each probe and without any. Its tests have the tags sim and node.
//
// PODSTEP_RECORD names a directory, normally agent/explain/causes/testdata/recorded: the tests then write there the
// snapshot by which a cause was named. There is one snapshot for all ways in which it names the cause. From then on
// the unit tests of package causes explain it again.
package stuck

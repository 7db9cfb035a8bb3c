// Package harmless proves that weaving does no harm: the kubelet's own unit
// tests must give the same results built with podstep's hook in the kubelet's
// functions and with the real agent behind it, as built without.
//
// It runs by `make test-harmless`. scratch_test.go makes a module of the
// kubelet's sources with all they need to be tested, run_test.go runs the tests
// in it, results_test.go compares, and harmless_test.go judges: a test is harmed
// if, in two tries, it has one result plain and another woven.
package harmless

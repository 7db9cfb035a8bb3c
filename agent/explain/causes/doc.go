// Package causes knows the ways in which a pod is stuck. Each cause is an entry of a
// table (table/*.yaml) with what it is called, why it is so, what would refute it
// and what to do next, in both languages, and with the evidence by which it is
// recognised. What takes more than looking for one item is a check, in Go.
//
// The package is pure: Explain goes from a snapshot (package evidence) to a report.
package causes

//go:generate go run ../causesdoc ../../../docs/causes.md testdata/recorded

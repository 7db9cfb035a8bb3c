// Package causes knows the ways in which a pod is stuck. Each cause is an entry of a table
// (table/*.yaml). The entry names the cause, why it is so, what would refute it and what to do
// next, in both languages. It also has the evidence by which the cause is recognised. A cause
// that takes more than one item to recognise has a check, in Go.
//
// The package is pure: Explain goes from a snapshot (package evidence) to a report.
package causes

//go:generate go -C ../../.. run ./cmd/gen causes

// Package weave puts podstep's hook into the functions of the catalogue while
// the go command compiles them: it is what `go build -toolexec` runs.
//
// Rewriting is done on the text, so that every line stays where it was: the
// hook goes behind the opening brace of the function, on the same line, and a
// line directive names the upstream file. A file is added to each woven package
// that declares the hook by its linker name; no import is added, and so nothing
// that the go command knows about dependencies changes.
//
// rewrite.go is the pure part, toolexec.go stands in for the compiler, and
// gocmd.go runs the go command so that only the packages that are woven, and
// those that depend on them, are built anew.
package weave

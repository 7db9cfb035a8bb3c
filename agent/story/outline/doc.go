// Package outline arranges the calls of each pod into the outline of its story: chapters, the turns of its worker,
// what happened between them, and what happened again and again. An outline is short however long a pod lives. It has
// no rows, words or languages: package tui/state makes rows of it.
package outline

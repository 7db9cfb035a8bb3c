// Package wording puts what is in a story into words, in the reader's language
// and safe to show: what calls, turns and events are called, what came of them,
// and the values that they have.
package wording

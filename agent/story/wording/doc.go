// Package wording puts the parts of a story into words, in the reader's language and safe to show: what calls, turns
// and events are called, their results and their values.
package wording

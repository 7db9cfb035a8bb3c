// Package explain finds why a pod is where it is. It goes from a story to
// findings: each has a code that stays, arguments by name, and the events that
// show it. What a finding is called for people is in one table, texts.yaml, in
// each language.
//
// A finding comes from a rule. Rules are tried in order; what a rule needs to know
// of the pod it asks of packages history and life. The package reads, and changes
// nothing.
package explain

// Package redact decides what of the kubelet's values leaves the agent.
//
// Messages of the CRI are shown by a list of the fields that may be, annotations by
// a list of names, commands by their program and the names of their options. All
// other texts go through Text, which takes out what looks like a secret and what
// containers print. docs/secrets.md says it for people.
package redact

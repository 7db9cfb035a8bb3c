// Package redact decides which parts of the kubelet's values leave the agent.
//
// Of messages of the CRI it shows the fields in a list, of annotations those in a list of names, and of commands the
// program and the names of options. All other texts go through Text, which takes out what looks like a secret and
// what containers print. docs/secrets.md explains it for people.
package redact

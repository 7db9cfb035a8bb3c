// Package canary makes values for tests to put where secrets are, and finds them in what an agent sends: in events as
// they come over the wire, in trace files, in any text. It is for tests only.
//
// A Set makes a value for each place with Value, or with Hard where any characters may stand. Find looks for each value
// plain and in the encodings in which it may have been carried further: base64 at any alignment, hex, URL, JSON and Go
// quoting. A value counts as found as soon as its beginning or its end is there.
package canary

// Package expected works out which steps come next in a pod's story if nothing
// goes wrong.
//
// Where the turns of a pod's worker are seen, Usual knows what such turns do, from the catalogue and from those that
// went well in this session. Where they are not, Calls lists the calls that every pod needs and that are still
// missing.
package expected

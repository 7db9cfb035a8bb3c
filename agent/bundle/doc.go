// Package bundle keeps all that podstep found out about a pod in one file, which a person can send to somebody who
// debugs it elsewhere: a tar, packed with gzip, with a list of what is in it. podstep explains it and shows its story
// anywhere.
package bundle

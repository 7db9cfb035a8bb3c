// Package nodelog finds where a process of the node writes its log, reads the end of it, and follows it: a file to which
// the process's standard error goes, or the journal of the host.
package nodelog

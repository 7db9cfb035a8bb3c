// Package klog reads entries of logs as k8s.io/klog writes them: its text and its JSON.
//
// It knows entries, not their meaning, and reads no files: package logstory joins lines to entries. The sources are
// klog's buffer.FormatHeader and serialize.KVListFormat, and component-base's logs/json.
package klog

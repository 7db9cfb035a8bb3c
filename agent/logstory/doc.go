// Package logstory makes stories of pods out of logs: of the kubelet's, and of the runtime's beside it.
//
// The catalogue says which lines the kubelet writes at a step (probes.LogLine), package klog reads them. A survey
// goes over the logs first: it finds out how verbose they are, and which pod had which name when. Then the logs are
// read again, their entries are put in order of time, and each becomes events as an agent sends them. So whatever
// shows a trace shows a log.
package logstory

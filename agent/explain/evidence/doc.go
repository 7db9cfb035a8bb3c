// Package evidence has what is known of one pod from outside its story: what the
// API server, the kubelet, the runtime, the machine and an agent say of it at one
// moment, each with its origin and its age, and what could not be seen and why.
//
// A Snapshot is plain data. It goes into JSON and back without loss, so that a
// snapshot taken on a real node can be kept and explained again. It has no value of
// a Secret, of a ConfigMap or of an environment variable, and nothing that a
// container printed: whoever fills it leaves these out.
package evidence

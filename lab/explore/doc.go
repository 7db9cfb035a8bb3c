// Package explore breaks each call of a kubelet about a pod, once or always, in each way that package faults knows, and
// asks each time: is the pod stuck, does `why` name the broken call, and did another pod suffer?
//
// A Life is something that happens to a pod, such as its creation. It is lived once without a fault: the calls that are
// seen then are those to break. A Fault is one of them, broken in one way; each is tried on a pod of its own. Results are
// appended to a file, so that a run which ended goes on where it was.
package explore

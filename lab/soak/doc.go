// Package soak has one long test. Pods of all kinds churn on a real node, while clients hold them at random places,
// inject faults and are killed. Nothing may happen to a pod that no client asked for, and the kubelet must end as it
// began.
package soak

// Package soak has one long test: pods of all kinds churn on a real node while
// clients hold them at random places, inject faults and are killed. Nothing that
// was not asked for may happen to a pod, and the kubelet must end as it began.
package soak

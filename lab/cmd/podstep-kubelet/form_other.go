//go:build otherkubernetes

package main

// form makes nothing: without package whatif this kubelet does not show the inputs of a plan.
var form func(list any) (document any, ok bool)

//go:build !otherkubernetes

package main

import "github.com/podstep/podstep/lab/whatif"

// form makes the inputs of a plan. Package whatif is of the lab's version of Kubernetes alone.
var form = whatif.Form

//go:build !unix

package tui

import "os"

// onHangup has nothing to look at: here a terminal that goes ends podstep with it.
func onHangup(*os.File, func()) (stop func()) { return func() {} }

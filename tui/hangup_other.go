//go:build !unix

package tui

import "os"

// onHangup does nothing: on these systems podstep ends with its terminal.
func onHangup(*os.File, func()) (stop func()) { return func() {} }

// Package spread works out how the durations of each step's calls are spread: how many calls there were, how long the
// usual and the slowest of them took, and which call was the slowest. It does so at any position of a history, for all
// pods or for one. It keeps the spreads up to date as events come, so that a frame costs the same after a million
// events as after a thousand.
//
// A call counts once it has ended, if both ends were seen. Time for which people held it is no part of its duration.
package spread

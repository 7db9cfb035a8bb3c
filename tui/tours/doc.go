// Package tours reads and checks the guided walks through the kubelet's pod pipeline. docs/tours has one YAML file
// for each walk, with a manifest to follow, the steps to stop at, what one sees there in English and Chinese, and a
// question now and then. The terminal UI takes a person along the walks. The pages in docs/walkthroughs are made
// from the same files.
//
// How a walk goes on, so that each stop is reached by one key:
//
//   - A stop is one of three kinds. An action changes something (it has Act). A
//     hold stop is a place at which the pod is held (it has Hold). All others
//     are watched: the pod runs on, and its event is waited for.
//   - A watched stop is the first event that matches it (Stop.Matches) after the
//     event of the stop before, by sequence number. A hold stop is reached when
//     the pod is held there.
//   - Before a walker lets the pod go on, or does an action, it sets the place
//     of the next hold stop, over watched stops but not over an action. So a
//     pod that was watched is held before it has run past. A place that is hit
//     with other values than Where asks for is passed by.
//   - An action is shown first, and done when the person goes on. A pod that is
//     held at the stop before is let go before the action.
//   - A walk begins with the action that makes its pod. A walk whose needs say
//     recorded reads what the flight recorder has, from its beginning.
//   - A walk works only on what it made itself. All of that has Label, by which
//     breakpoints select. Where a name is taken the walk takes another one
//     (Tour.Own).
//   - However a walk ends, nothing stays held, and what it made can be taken
//     away (Tour.Cleanup).
package tours

//go:generate go -C ../.. run ./cmd/gen walkthroughs

package causes

// terminatingChecks are the checks of table/terminating.yaml.
var terminatingChecks []check

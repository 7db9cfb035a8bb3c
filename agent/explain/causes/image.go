package causes

// imageChecks are the checks of table/image.yaml.
var imageChecks []check

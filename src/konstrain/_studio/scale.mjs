// Gives both axes of the picture one scale, for any shape of its frame: distances on the screen are then distances in
// the data. `extent` holds the ends of the data; its column `x` is empty where the axes have scales of their own.

function set(range, middle, across, asReset) {
  const [start, end] = [middle - across / 2, middle + across / 2]
  range.setv(asReset ? {start, end, reset_start: start, reset_end: end} : {start, end})
}

export default ({figure, extent}) => {
  const {x_range, y_range, inner_width: width, inner_height: height} = figure
  const {x, y} = extent.data
  if (!(x.length && width > 0 && height > 0)) return
  const perPixel = Math.max((x[1] - x[0]) / width, (y[1] - y[0]) / height)
  if (x_range.start === x_range.reset_start && x_range.end === x_range.reset_end) {
    // Nothing was panned or zoomed: all data stays in view.
    set(x_range, (x[0] + x[1]) / 2, perPixel * width, true)
    set(y_range, (y[0] + y[1]) / 2, perPixel * height, true)
  } else {
    // What a person chose to see stays where it is.
    set(y_range, (y_range.start + y_range.end) / 2, (x_range.end - x_range.start) / width * height, false)
  }
}

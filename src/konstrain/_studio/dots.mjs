// Draws many rows as one image of the picture's frame. Ten thousand circles take a browser without a graphics card
// most of a second; the pixels of a hundred thousand take a few hundredths, here and with a card.

// Pixels of a dot around its middle, as steps in an image of this width, and how much of each the dot covers.
function stamp(diameter, width) {
  const steps = [], covers = []
  const reach = Math.ceil(diameter / 2)
  for (let dy = -reach; dy <= reach; dy++) {
    for (let dx = -reach; dx <= reach; dx++) {
      const covered = Math.min(1, Math.max(0, diameter / 2 + 0.5 - Math.hypot(dx, dy)))
      if (covered === 0) continue
      steps.push(dy * width + dx)
      covers.push(covered)
    }
  }
  return {steps: Int32Array.from(steps), covers: Float32Array.from(covers)}
}

function channels(color) {
  const value = parseInt(color.slice(1), 16)
  return [value >> 16, (value >> 8) & 255, value & 255]
}

// Dots over each other, later rows on top: red, green, blue and alpha of each pixel, colours times alpha. The image
// has a margin of a dot all around, so that no pixel of a dot has to be looked at for whether it is inside.
function paint({x, y, cluster, left, bottom, perX, perY, width, height, palette, diameter, alpha}) {
  const margin = Math.ceil(diameter / 2), wide = width + 2 * margin
  const layers = new Float32Array(4 * wide * (height + 2 * margin))
  const colors = palette.map(channels)
  const {steps, covers} = stamp(diameter, wide)
  for (let i = 0; i < cluster.length; i++) {
    const column = Math.floor((x[i] - left) * perX), row = Math.floor((y[i] - bottom) * perY)
    // Also left out: what is no number.
    if (!(column >= 0 && column < width && row >= 0 && row < height)) continue
    const color = colors[cluster[i] % colors.length]
    const red = color[0], green = color[1], blue = color[2]
    const middle = (row + margin) * wide + column + margin
    for (let j = 0; j < steps.length; j++) {
      const at = 4 * (middle + steps[j]), own = alpha * covers[j], below = 1 - own
      layers[at] = layers[at] * below + red * own
      layers[at + 1] = layers[at + 1] * below + green * own
      layers[at + 2] = layers[at + 2] * below + blue * own
      layers[at + 3] = layers[at + 3] * below + own
    }
  }
  return {layers, margin, wide}
}

// The image wants colours as they are, beside their alpha, and has no margin.
function copy({layers, margin, wide}, width, height, bytes) {
  bytes.fill(0)
  for (let row = 0; row < height; row++) {
    let from = 4 * ((row + margin) * wide + margin), to = 4 * row * width
    for (const end = to + 4 * width; to < end; from += 4, to += 4) {
      const alpha = layers[from + 3]
      if (alpha === 0) continue
      bytes[to] = layers[from] / alpha
      bytes[to + 1] = layers[from + 1] / alpha
      bytes[to + 2] = layers[from + 2] / alpha
      bytes[to + 3] = 255 * alpha
    }
  }
}

function draw({figure, points, clusters, image, mapper, diameter, alpha}) {
  const {x_range, y_range} = figure
  const sharpness = window.devicePixelRatio
  const width = Math.round(figure.inner_width * sharpness), height = Math.round(figure.inner_height * sharpness)
  const across = x_range.end - x_range.start, up = y_range.end - y_range.start
  if (!(width > 0 && height > 0 && across && up)) return
  const data = image.data
  // Changed in place: a new value would be sent back to the server.
  if (data.image[0].length !== width * height || data.image[0].shape[1] !== width) {
    data.image[0] = new data.image[0].constructor(new Uint32Array(width * height), [height, width])
  }
  const painted = paint({
    x: points.data.x, y: points.data.y, cluster: clusters.data.cluster,
    left: x_range.start, bottom: y_range.start, perX: width / across, perY: height / up,
    width, height, palette: mapper.palette, diameter: diameter * sharpness, alpha,
  })
  copy(painted, width, height, new Uint8ClampedArray(data.image[0].buffer))
  for (const [name, value] of [["x", x_range.start], ["y", y_range.start], ["dw", across], ["dh", up]]) data[name][0] = value
  image.change.emit()
}

let isWaiting = false

// Called for each change of anything drawn; several in a row, as of all ends of both ranges, are drawn once.
export default (args) => {
  if (isWaiting) return
  isWaiting = true
  queueMicrotask(() => {
    isWaiting = false
    draw(args)
  })
}

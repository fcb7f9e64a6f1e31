// Draws many rows as one image of the picture's frame. Ten thousand circles take a browser without a graphics card
// most of a second; the pixels of a hundred thousand take a few hundredths, here and with a card.

// Pixels of a dot around its middle, and how much of each it covers.
function stamp(diameter) {
  const pixels = []
  const reach = Math.ceil(diameter / 2)
  for (let dy = -reach; dy <= reach; dy++) {
    for (let dx = -reach; dx <= reach; dx++) {
      const covered = Math.min(1, Math.max(0, diameter / 2 + 0.5 - Math.hypot(dx, dy)))
      if (covered > 0) pixels.push([dx, dy, covered])
    }
  }
  return pixels
}

function channels(color) {
  const value = parseInt(color.slice(1), 16)
  return [value >> 16, (value >> 8) & 255, value & 255]
}

// Dots over each other, later rows on top: red, green, blue and alpha of each pixel, colours times alpha.
function paint({x, y, cluster, left, bottom, perX, perY, width, height, palette, diameter, alpha}) {
  const layers = new Float32Array(4 * width * height)
  const colors = palette.map(channels)
  const pixels = stamp(diameter)
  for (let i = 0; i < cluster.length; i++) {
    const column = Math.floor((x[i] - left) * perX), row = Math.floor((y[i] - bottom) * perY)
    // Also left out: what is no number.
    if (!(column >= -diameter && column < width + diameter && row >= -diameter && row < height + diameter)) continue
    const [red, green, blue] = colors[cluster[i] % colors.length]
    for (const [dx, dy, covered] of pixels) {
      const px = column + dx, py = row + dy
      if (px < 0 || px >= width || py < 0 || py >= height) continue
      const at = 4 * (py * width + px), own = alpha * covered, below = 1 - own
      layers[at] = layers[at] * below + red * own
      layers[at + 1] = layers[at + 1] * below + green * own
      layers[at + 2] = layers[at + 2] * below + blue * own
      layers[at + 3] = layers[at + 3] * below + own
    }
  }
  return layers
}

// The image wants colours as they are, beside their alpha.
function as_bytes(layers, bytes) {
  for (let at = 0; at < layers.length; at += 4) {
    const alpha = layers[at + 3]
    bytes[at] = alpha && layers[at] / alpha
    bytes[at + 1] = alpha && layers[at + 1] / alpha
    bytes[at + 2] = alpha && layers[at + 2] / alpha
    bytes[at + 3] = 255 * alpha
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
  const layers = paint({
    x: points.data.x, y: points.data.y, cluster: clusters.data.cluster,
    left: x_range.start, bottom: y_range.start, perX: width / across, perY: height / up,
    width, height, palette: mapper.palette, diameter: diameter * sharpness, alpha,
  })
  as_bytes(layers, new Uint8ClampedArray(data.image[0].buffer))
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

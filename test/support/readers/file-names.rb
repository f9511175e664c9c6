# Reads one mail from standard input as the gem mail reads it; writes the names of its files as JSON.
require 'json'
require 'mail'

puts JSON.generate(Mail.new($stdin.binmode.read).attachments.map(&:filename))

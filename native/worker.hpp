// One thread beside its owner's, for one task at a time.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace diffsim {

/// The thread lives as long as this (scratch memory stays warm) and is started by the first task.
class Worker {
 public:
  Worker() = default;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  /// Begins a task; the one before must have been waited for.
  void begin(std::function<void()> task) {
    if (!thread_.joinable()) thread_ = std::thread([this] { serve(); });
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      task_ = std::move(task);
    }
    changed_.notify_all();
  }

  /// Waits for the task, if any, and throws what it threw; true if there was one since the last
  /// wait.
  bool wait() {
    if (!thread_.joinable()) return false;
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return !task_; });
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    return std::exchange(done_, false);
  }

 private:
  void serve() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ending_ || task_; });
      if (!task_) return;
      lock.unlock();
      std::exception_ptr error;
      try {
        task_();
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      error_ = error;
      task_ = nullptr;
      done_ = true;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> task_;
  std::exception_ptr error_;
  bool done_ = false, ending_ = false;
  std::thread thread_;
};

}  // namespace diffsim

package io.holdfast.lock.spring;

import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.Optional;
import java.util.function.BiPredicate;
import org.jspecify.annotations.Nullable;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.Handle;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.InvokeDynamicInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.VarInsnNode;
import org.objectweb.asm.tree.analysis.Analyzer;
import org.objectweb.asm.tree.analysis.AnalyzerException;
import org.objectweb.asm.tree.analysis.Frame;
import org.objectweb.asm.tree.analysis.SourceInterpreter;
import org.objectweb.asm.tree.analysis.SourceValue;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The calls of a class's code to its own methods on {@code this}, which go past a proxy. Finds
 * those in methods and lambdas, not those by way of a variable or an inner class.
 */
final class SelfCalls {
  private static final Logger log = LoggerFactory.getLogger(SelfCalls.class);

  private SelfCalls() {}

  /** The name and the descriptor of a method, by which its calls are found. */
  record Signature(String name, String descriptor) {
    static Signature of(java.lang.reflect.Method method) {
      return new Signature(method.getName(), Type.getMethodDescriptor(method));
    }
  }

  /** The first call in the class or its superclasses that is of interest: of caller and callee. */
  static Optional<Found> find(
      Class<?> type, BiPredicate<? super Signature, ? super Signature> interest) {
    for (Class<?> at = type; at != null && at != Object.class; at = at.getSuperclass()) {
      Optional<Found> found = findIn(at, interest);
      if (found.isPresent()) {
        return found;
      }
    }
    return Optional.empty();
  }

  /** A call on {@code this}. */
  record Found(Signature caller, Signature callee) {}

  private static Optional<Found> findIn(
      Class<?> type, BiPredicate<? super Signature, ? super Signature> interest) {
    ClassNode code = codeOf(type);
    if (code == null) {
      return Optional.empty();
    }
    return code.methods.stream()
        .flatMap(method -> findIn(code.name, method, interest).stream())
        .findFirst();
  }

  /** Null if the code can't be read: made at run time, or of a later version of Java. */
  private static @Nullable ClassNode codeOf(Class<?> type) {
    String file = type.getName().substring(type.getName().lastIndexOf('.') + 1) + ".class";
    try (InputStream bytes = type.getResourceAsStream(file)) {
      if (bytes == null) {
        return null;
      }
      ClassNode code = new ClassNode();
      new ClassReader(bytes).accept(code, ClassReader.SKIP_DEBUG | ClassReader.SKIP_FRAMES);
      return code;
    } catch (IOException | IllegalArgumentException e) {
      log.debug("The code of {} can't be read, so calls of its own methods are not seen", type, e);
      return null;
    }
  }

  private static Optional<Found> findIn(
      String owner, MethodNode method, BiPredicate<? super Signature, ? super Signature> interest) {
    Signature caller = new Signature(method.name, method.desc);
    boolean isStatic = (method.access & Opcodes.ACC_STATIC) != 0;
    if (isStatic
        || Arrays.stream(method.instructions.toArray())
            .noneMatch(instruction -> isOfInterest(caller, calleeOf(instruction), interest))) {
      return Optional.empty();
    }
    Frame<SourceValue>[] frames;
    try {
      frames = new Analyzer<>(new SourceInterpreter()).analyze(owner, method);
    } catch (AnalyzerException e) {
      log.debug("The code of {}.{} can't be followed", owner, method.name, e);
      return Optional.empty();
    }
    for (int i = 0; i < frames.length; i++) {
      AbstractInsnNode instruction = method.instructions.get(i);
      Signature callee = calleeOf(instruction);
      if (callee != null
          && frames[i] != null
          && isOfInterest(caller, callee, interest)
          && isThis(receiver(frames[i], instruction))) {
        return Optional.of(new Found(caller, callee));
      }
    }
    return Optional.empty();
  }

  private static boolean isOfInterest(
      Signature caller,
      @Nullable Signature callee,
      BiPredicate<? super Signature, ? super Signature> interest) {
    return callee != null && interest.test(caller, callee);
  }

  /** The method that is called, or made into a method reference. */
  private static @Nullable Signature calleeOf(AbstractInsnNode instruction) {
    if (instruction instanceof MethodInsnNode call
        && (call.getOpcode() == Opcodes.INVOKEVIRTUAL
            || call.getOpcode() == Opcodes.INVOKEINTERFACE)) {
      return new Signature(call.name, call.desc);
    }
    if (instruction instanceof InvokeDynamicInsnNode reference) {
      for (Object argument : reference.bsmArgs) {
        if (argument instanceof Handle handle
            && (handle.getTag() == Opcodes.H_INVOKEVIRTUAL
                || handle.getTag() == Opcodes.H_INVOKEINTERFACE)) {
          return new Signature(handle.getName(), handle.getDesc());
        }
      }
    }
    return null;
  }

  private static @Nullable SourceValue receiver(
      Frame<SourceValue> frame, AbstractInsnNode instruction) {
    String descriptor = instruction instanceof MethodInsnNode call
        ? call.desc
        : ((InvokeDynamicInsnNode) instruction).desc;
    int above = Type.getArgumentTypes(descriptor).length;
    // A method reference captures its receiver as its first argument.
    int depth = instruction instanceof MethodInsnNode ? above + 1 : above;
    int at = frame.getStackSize() - depth;
    return depth == 0 || at < 0 ? null : frame.getStack(at);
  }

  private static boolean isThis(@Nullable SourceValue value) {
    return value != null
        && !value.insns.isEmpty()
        && value.insns.stream()
            .allMatch(source -> source instanceof VarInsnNode load
                && load.getOpcode() == Opcodes.ALOAD
                && load.var == 0);
  }
}
